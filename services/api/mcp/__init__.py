"""The Model Context Protocol: tools and resources over the graphs, for agents."""
