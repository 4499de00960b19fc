"""What a person may ask for."""
