"""What a congregation would misunderstand: sentences, and what a caption of each has to say."""
