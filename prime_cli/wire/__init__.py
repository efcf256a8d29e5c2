"""The JSON that hub and client both speak: msgspec Structs without behaviour."""
