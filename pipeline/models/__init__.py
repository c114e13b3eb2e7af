"""Model files: the registry, the store on disk, downloading."""
