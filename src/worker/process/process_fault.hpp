#pragma once

#include <troupe/fault/inject.hpp>

#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>

namespace troupe::worker {

/// An address that is never mapped: it is in the first page.
inline constexpr std::uintptr_t address_of_nothing = 8;

/// Commits the faults that concern the process itself, whatever its device: these do not return.
/// Does nothing for any other kind.
inline void fault_process(fault::kind what) {
  switch (what) {
    case fault::kind::segmentation_fault: {
      // Volatile, so that no compiler knows the address.
      std::byte* volatile nowhere = reinterpret_cast<std::byte*>(address_of_nothing);
      *static_cast<volatile std::byte*>(nowhere) = std::byte{1};
      return;
    }
    case fault::kind::abort:
      std::abort();
    case fault::kind::exit:
      ::_exit(0);
    case fault::kind::kill:
      ::kill(::getpid(), SIGKILL);
      for (;;)
        ::pause();
    case fault::kind::exception:
      throw std::runtime_error("injected exception");
    case fault::kind::hang:
    case fault::kind::out_of_memory:
    case fault::kind::write_frozen:
    case fault::kind::spin:
    case fault::kind::trap:
    case fault::kind::stack_overflow:
    case fault::kind::unmapped_address:
    case fault::kind::misaligned_address:
    case fault::kind::failed_assertion:
    case fault::kind::invalid_launch:
    case fault::kind::withdraw:
      return;
  }
}

}  // namespace troupe::worker
