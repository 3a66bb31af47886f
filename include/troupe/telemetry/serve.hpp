#pragma once

#include <troupe/base/export.hpp>
#include <troupe/base/result.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

/// Shows a running program: to Prometheus, to load balancers, in a browser and in a terminal. In a
/// library of its own, `libtroupe-telemetry.so`.
namespace troupe {
class system;
}

namespace troupe::telemetry {

struct serve_options {
  /// A numeric address. Any but one of this machine alone ("127.0.0.1", "::1") needs a token.
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  ///< 0 takes a free one.
  /// A token that clients must give, unless it is empty: `Authorization: Bearer TOKEN`, or once
  /// `?token=TOKEN` in a browser. At least 16 letters, digits or `-._~`. Health is told without it,
  /// by the status alone.
  std::string token{};
  /// Serves the same for this user at `$XDG_RUNTIME_DIR/troupe/PID.sock` (without the variable in
  /// /run/user/UID, or /tmp/troupe-UID), for `troupe top`. It does without where that is
  /// impossible.
  bool socket = true;
  /// A device is ready if a request has ended well within this time. If none has, it is probed.
  std::chrono::nanoseconds fresh = std::chrono::seconds(5);
  /// How long a device counts as ready while it recovers from the loss of a worker.
  std::chrono::nanoseconds grace = std::chrono::seconds(2);
};

/// A running server, see `serve`. It ends with this object or with its system, whichever is first.
class TROUPE_EXPORT server {
 public:
  struct parts;
  explicit server(std::shared_ptr<parts> made) noexcept;
  server(server&&) noexcept;
  server& operator=(server&&) noexcept;
  ~server();

  /// For a browser, the token included: `http://127.0.0.1:41873/`.
  [[nodiscard]] std::string url() const;
  [[nodiscard]] std::uint16_t port() const noexcept;
  /// Empty if there is no socket.
  [[nodiscard]] std::string socket_path() const;
  /// Returns when its threads have ended and its port is free. May be called again.
  void close() noexcept;

 private:
  std::shared_ptr<parts> parts_;
};

/// Serves, until the result is closed, `/` (a page for browsers), `/metrics`, `/livez`, `/readyz`,
/// `/healthz`, `/snapshot.json` and `/events`. Nothing that it serves changes anything.
/// \errors `invalid_argument` for an address that is not numeric, a token that is too short or has
/// other characters, another address without a token; `system_error`, as for a port that is taken;
/// `device_stopped` after the system has shut down
[[nodiscard]] TROUPE_EXPORT result<server> serve(troupe::system& system,
                                                 const serve_options& options = {});

}  // namespace troupe::telemetry
