"""How the starter models are made: data, models, training, evaluation, export."""
