#pragma once

namespace troupe {

/// Receives one fact about a library inside a plugin: its name ("version") and its value.
using tell_about = void(void* to, const char* library, const char* what, const char* value);
/// A plugin exports this as `troupe_backend_about`, if there is a library inside it.
using backend_about = void(tell_about* tell, void* to);

}  // namespace troupe
