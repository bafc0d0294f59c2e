"""Rows as programs send them, and answers as programs read them: JSON, CSV, tf.train.Example."""
