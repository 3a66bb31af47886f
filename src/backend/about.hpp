#pragma once

namespace troupe {

/// Is told one fact about a library inside a plugin: what of it ("version"), and how that is.
using tell_about = void(void* to, const char* library, const char* what, const char* value);
/// What a plugin exports as `troupe_backend_about`, if there is a library inside it.
using backend_about = void(tell_about* tell, void* to);

}  // namespace troupe
