"""Pages for readers of a paper: every claim with its verdict, errata, proof trees."""
