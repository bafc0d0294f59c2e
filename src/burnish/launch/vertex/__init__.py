"""Jobs, searches and endpoints of Vertex AI."""
