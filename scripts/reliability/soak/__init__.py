"""The soak: hours of a church's sound through the real program, watched for growth."""
