"""The HTTP face: FastAPI routes over the application port. `app.create_app` is the entrance.

Not the rules of what a request may hold: `services/api/schema`. Nothing here knows which store or model is behind.
"""
