"""The Python interface: one database, its graphs, their documents and questions, in process or over the network."""
