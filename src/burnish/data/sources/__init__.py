"""Sources: files, GLUE and hub data sets as splits of rows."""
