"""What a reader sees: tables, text and figures. Nothing is computed here."""
