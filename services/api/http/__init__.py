"""The HTTP interface: FastAPI routes over the application port. `app.create_app` is the entry point.

`services/api/schema` validates requests. No code here depends on a particular store or model.
"""
