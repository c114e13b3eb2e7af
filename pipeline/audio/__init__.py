"""Sound: microphones and files, voice detection, cutting speech into utterances."""
