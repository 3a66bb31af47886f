#pragma once

#include <cstdint>
#include <utility>

/// The protocol by which the ranks of a world keep step, and by which a lost rank catches up.
///
/// The operations of a world are numbered from 1. Each rank runs its part of every operation in
/// that order, and each part consists of steps. A step is a number that is greater than all earlier
/// ones on every rank. Words hold steps and only grow, so anything may be repeated: a worker that
/// replaces a lost one runs the part again, finds in the words how far it had come, and its peers,
/// which wait meanwhile, cannot tell the difference.
///
/// The words of a rank lie in memory that outlives its workers:
///
///     own        the next step to make                        written by the rank
///     staged     the last step whose input is staged          written by the rank
///     start[p]   peer p has begun this step                   written by p, polled by the rank
///     done[p]    peer p has written its output of this step   written by p, polled by the rank
///
/// and for the world `dropped`: the last operation that the program has given up, because the part
/// of a rank failed. The program drops an operation once every earlier one has ended on all ranks.
///
/// Stores release and loads acquire, at the scope of the whole system.
///
/// All of it is constexpr, so that kernels run the very same code.
namespace troupe::collective {

/// A part has fewer steps than this.
inline constexpr unsigned step_bits = 24;

[[nodiscard]] constexpr std::uint64_t step_of(std::uint64_t operation,
                                              std::uint64_t number) noexcept {
  return operation << step_bits | number;
}
[[nodiscard]] constexpr std::uint64_t operation_of(std::uint64_t step) noexcept {
  return step >> step_bits;
}

/// The slots for staged input. Operations take turns with two pairs, and the steps of one operation
/// with the two slots of its pair. So every peer has read a slot before it is staged anew: a slot
/// of the same operation, because all have begun the step between; one of the operation before the
/// last, because all have begun the last.
inline constexpr std::uint64_t staging_slots = 4;

[[nodiscard]] constexpr std::uint64_t slot_of(std::uint64_t step) noexcept {
  return (operation_of(step) & 1) << 1 | (step & 1);
}

/// The continuation of a part behind a step through staging.
enum class then : std::uint8_t {
  more,     ///< the next step, whose slot may be written already
  another,  ///< a step of something else
  nothing,
};

/// The protocol, for one rank and one block of threads. `Words` accesses the words:
///
///     ranks(), rank()
///     own(), set_own(step), staged(), set_staged(step)
///     put_start(peer, step), put_done(peer, step)
///     all_started(step), all_done(step)    whether all peers have put it; may look for a while
///     dropped()
///     pause()          while a condition does not hold yet
///
/// Functions return false if the operation was dropped: the part ends with a failure, and its
/// output is undefined.
template <class Words>
class protocol {
 public:
  constexpr explicit protocol(Words& words) noexcept : words_(words) {}

  /// Call first in each part. If an earlier operation has failed on this rank, its peers may still
  /// be in it, or in the one before, and read what this part would overwrite. The program drops it
  /// when they are not.
  constexpr void begin(std::uint64_t operation) {
    while (words_.own() < step_of(operation, 0) && words_.dropped() + 1 < operation)
      words_.pause();
  }

  /// One step through staging: `stage(step)` copies input into the step's slot, `combine` reads the
  /// slots of all ranks and writes output, which may be where input was. No peer's input or output
  /// is accessed. If there is `more`, `combine(true)` also stages the input of the next step, which
  /// is not overwritten yet: all have begun this step, so they have read that slot.
  ///
  /// After `begun`, `stage` may instead reduce this rank's slice of the inputs of all ranks into
  /// the slot, and `combine` read the slices of all. No rank combines before all have
  /// staged: the inputs that it overwrites have been read.
  template <class Stage, class Combine>
  [[nodiscard]] constexpr bool staged(std::uint64_t step, then next, Stage&& stage,
                                      Combine&& combine) {
    if (words_.own() > step) return true;  // an earlier worker has made it
    // Once it is staged, the input may be half overwritten.
    if (words_.staged() < step) {
      stage(step);
      words_.set_staged(step);
    }
    if (!start(step)) return false;
    const bool stages_next = next == then::more && words_.staged() <= step;
    combine(stages_next);
    // A peer that goes on without this operation has seen that it was dropped. So if it is not
    // dropped now, all slots and inputs were those of this step.
    if (is_dropped(step)) return false;
    if (stages_next) words_.set_staged(step + 1);
    words_.set_own(next == then::nothing ? step_of(operation_of(step) + 1, 0) : step + 1);
    return true;
  }

  /// A step that waits until all have begun it, so that the inputs of all may be read.
  [[nodiscard]] constexpr bool begun(std::uint64_t step) {
    if (words_.own() > step) return true;
    if (!start(step)) return false;
    words_.set_own(step + 1);
    return true;
  }

  /// A step without staging: `pull` reads the input of all ranks and writes output. Returns when
  /// all ranks have written theirs; until then no input may change. Precondition: no output
  /// overlaps any input.
  template <class Pull>
  [[nodiscard]] constexpr bool direct(std::uint64_t step, Pull&& pull) {
    if (words_.own() <= step) {
      if (!start(step)) return false;
      std::forward<Pull>(pull)();
    }
    return finish(step);
  }

  /// Two steps without staging: `reduce` reads the input of all ranks and writes this rank's slice
  /// of the output, `gather` reads the other slices where their ranks have written them. Who has
  /// begun the second step has made the first, so that one needs no second wait.
  template <class Reduce, class Gather>
  [[nodiscard]] constexpr bool two_shot(std::uint64_t step, Reduce&& reduce, Gather&& gather) {
    if (words_.own() <= step) {
      if (!start(step)) return false;
      std::forward<Reduce>(reduce)();
      words_.set_own(step + 1);
    }
    return direct(step + 1, std::forward<Gather>(gather));
  }

  /// A step without staging whose output another library may have written already, from the inputs
  /// of all ranks. If not `trusts()`, asked after that library has ended, it is pulled as in
  /// `direct`: no rank has left the step yet, so all inputs are intact.
  template <class Trusts, class Pull>
  [[nodiscard]] constexpr bool verified(std::uint64_t step, Trusts&& trusts, Pull&& pull) {
    if (words_.own() <= step) {
      for (int peer = 0; peer < words_.ranks(); ++peer)
        words_.put_start(peer, step);
      if (!std::forward<Trusts>(trusts)()) {
        if (!wait(step, [&] { return words_.all_started(step); })) return false;
        std::forward<Pull>(pull)();
      }
    }
    return finish(step);
  }

  /// The second half of a step without staging. A step that is not one piece takes two: `start`,
  /// then the pull if `own` says that it was not made, then this.
  [[nodiscard]] constexpr bool finish(std::uint64_t step) {
    if (words_.own() > step + 1) return true;
    words_.set_own(step + 1);
    for (int peer = 0; peer < words_.ranks(); ++peer)
      words_.put_done(peer, step);
    if (!wait(step, [&] { return words_.all_done(step); })) return false;
    return !is_dropped(step);  // else a peer's input may have changed early
  }

  /// The first half.
  [[nodiscard]] constexpr bool start(std::uint64_t step) {
    for (int peer = 0; peer < words_.ranks(); ++peer)
      words_.put_start(peer, step);
    return wait(step, [&] { return words_.all_started(step); });
  }

  /// Call last in each part.
  constexpr void end(std::uint64_t operation) {
    const std::uint64_t next = step_of(operation + 1, 0);
    if (words_.own() < next) words_.set_own(next);
  }

 private:
  [[nodiscard]] constexpr bool is_dropped(std::uint64_t step) {
    return words_.dropped() >= operation_of(step);
  }
  template <class Are>
  [[nodiscard]] constexpr bool wait(std::uint64_t step, Are&& are_all_there) {
    while (!are_all_there()) {
      if (is_dropped(step)) return false;
      words_.pause();
    }
    return true;
  }

  Words& words_;
};

}  // namespace troupe::collective
