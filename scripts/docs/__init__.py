"""What the documentation shows: pictures of the pages, schemas."""
