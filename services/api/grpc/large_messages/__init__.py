"""Large messages: bounds before they are parsed, and conversion outside the event loop."""
