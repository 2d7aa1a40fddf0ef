"""What every layer stands on; nothing here knows a federated word."""
