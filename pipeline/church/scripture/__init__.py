"""Bible references, printed Bibles and quoted verses."""
