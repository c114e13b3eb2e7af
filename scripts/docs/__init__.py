"""Material of the documentation: pictures of the pages, schemas."""
