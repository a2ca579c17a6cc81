"""What the end-to-end tests share: servers, clients and the objects that they are given."""
