"""The threads between microphone and captions, and the queues between them."""
