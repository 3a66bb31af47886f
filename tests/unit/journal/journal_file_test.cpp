// The file of a journal is read as it was written, up to the first damage.
#include "journal/journal_file.hpp"

#include "device/journal/host_contents.hpp"
#include "device/journal/journal_writer.hpp"
#include "device/journal/note_queue.hpp"
#include "os/unique_fd.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

namespace troupe::journal {
namespace {

// Notes that a test chooses.
class source final : public note_source {
 public:
  bool give_notes(note_chunk& to) override {
    const std::lock_guard lock(mutex_);
    const bool any = next_ < wanted_;
    for (; next_ < wanted_; ++next_) {
      send_note about{};
      about.ticket = next_;
      about.type = 7;
      const std::array<std::byte, 24> frame{std::byte{1}};
      to.add(note::send, 0, {bytes_of(about), frame});
      end_note end{};
      end.ticket = next_;
      to.add(note::end, 0, {bytes_of(end)});
    }
    return any;
  }
  void want(std::uint64_t tickets) {
    const std::lock_guard lock(mutex_);
    wanted_ = tickets;
  }

 private:
  std::mutex mutex_;
  std::uint64_t wanted_ = 0;
  std::uint64_t next_ = 0;
};

class JournalFile : public ::testing::Test {
 protected:
  static block filled(std::uint64_t ticket, std::size_t bytes, int value) {
    block one{.what = note::content,
              .about = {.ticket = ticket, .offset = 64, .bytes = bytes, .pool = 1},
              .bytes = std::make_unique<std::byte[]>(bytes)};
    std::memset(one.bytes.get(), value, bytes);
    return one;
  }
  // A journal in several chunks.
  void write(std::uint64_t tickets) {
    auto writer = journal_writer::open(path_, {}).value();
    source from;
    writer->add(from, 0, "version 1\nbackend cpu\n");
    from.want(tickets / 2);
    EXPECT_TRUE(writer->flush());
    EXPECT_TRUE(writer->add(filled(1, 100, 5)));
    EXPECT_TRUE(writer->flush());
    from.want(tickets);
    EXPECT_TRUE(writer->flush());
    writer->remove(from);
  }
  [[nodiscard]] std::string content() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  // A journal with these bytes, in memory: as a file on a disk, a thousand of them take long.
  static result<journal_file> read(const std::string& bytes) {
    const os::unique_fd file(::memfd_create("journal", MFD_CLOEXEC));
    EXPECT_EQ(::write(file.get(), bytes.data(), bytes.size()), std::ssize(bytes));
    return journal_file::open("/proc/self/fd/" + std::to_string(file.get()));
  }
  void TearDown() override { std::filesystem::remove(path_); }

  const std::string path_ =
      ::testing::TempDir() + "troupe-journal-file-" + std::to_string(::getpid());
};

TEST_F(JournalFile, IsReadAsItWasWritten) {
  write(20);
  const auto file = journal_file::open(path_).value();
  EXPECT_EQ(file.damage(), "");
  const noted_device& of = file.devices().at(0);
  ASSERT_EQ(of.requests.size(), 20U);
  EXPECT_EQ(of.fact("backend"), "cpu");
  EXPECT_TRUE(of.requests.at(19).end);
  ASSERT_EQ(of.requests.at(1).contents.size(), 1U);
  const auto bytes = file.bytes(of.requests.at(1).contents[0]).value();
  EXPECT_EQ(bytes, std::vector<std::byte>(100, std::byte{5}));
}

TEST_F(JournalFile, CutOffAtAnyByteHasItsWholeChunks) {
  write(6);
  const std::string whole = content();
  std::size_t before = 0;
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const auto file = read(whole.substr(0, length));
    if (length < file_mark.size()) {
      EXPECT_FALSE(file);
      continue;
    }
    ASSERT_TRUE(file);
    EXPECT_NE(file->damage(), "") << length;
    const std::size_t now = file->devices().empty() ? 0 : file->devices().at(0).requests.size();
    EXPECT_GE(now, before);
    EXPECT_TRUE(now == 0 || now == 3 || now == 6) << now;
    before = now;
  }
  EXPECT_EQ(before, 6U);
}

TEST_F(JournalFile, WithAnyByteChangedIsNoticed) {
  write(6);
  const std::string whole = content();
  for (std::size_t at = file_mark.size(); at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x41);
    const auto file = read(changed);
    ASSERT_TRUE(file);
    if (file->damage().empty()) {
      // Then it is in the bytes of the content, whose digest tells.
      const auto& of = file->devices().at(0).requests.at(1);
      ASSERT_EQ(of.contents.size(), 1U);
      EXPECT_FALSE(file->bytes(of.contents[0])) << at;
    }
  }
}

TEST_F(JournalFile, OnAFullDiskSaysWhatIsMissingAndStops) {
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  auto writer = journal_writer::open(path_, {}).value();
  source from;
  writer->add(from, 0, "backend cpu\n");
  from.want(10);
  EXPECT_TRUE(writer->flush());
  const auto limit = [&](rlim_t bytes) {
    const rlimit now{bytes, before.rlim_max};
    return ::setrlimit(RLIMIT_FSIZE, &now) == 0;
  };
  ASSERT_TRUE(limit(writer->statistics().file_bytes + 100));
  EXPECT_TRUE(writer->add(filled(10, 1000, 3)));
  while (writer->statistics().gaps == 0)
    std::this_thread::yield();
  from.want(15);
  EXPECT_FALSE(writer->flush());  // these are kept
  ASSERT_TRUE(limit(before.rlim_cur));
  from.want(20);
  EXPECT_TRUE(writer->flush());  // it goes on
  {
    const auto file = journal_file::open(path_).value();
    const noted_device& of = file.devices().at(0);
    EXPECT_EQ(of.requests.size(), 20U);
    ASSERT_EQ(of.gaps.size(), 1U);
    EXPECT_EQ(of.gaps[0].first, 10U);
    EXPECT_EQ(of.gaps[0].what, gap_note::contents);
  }
  ASSERT_TRUE(limit(writer->statistics().file_bytes + 50));
  for (int i = 0; i < 5; ++i)
    (void)writer->add(filled(11, 1000, i));
  EXPECT_FALSE(writer->flush());
  EXPECT_NE(writer->statistics().stopped.find("EFBIG"), std::string::npos)
      << writer->statistics().stopped;
  EXPECT_FALSE(writer->add(filled(12, 10, 1)));
  ASSERT_TRUE(limit(before.rlim_cur));
  writer->remove(from);
  writer.reset();
  EXPECT_EQ(journal_file::open(path_).value().devices().at(0).requests.size(), 20U);
}

TEST_F(JournalFile, HasTheDataOfEachRequestThatItHas) {
  auto writer = journal_writer::open(path_, {}).value();
  source from;
  writer->add(from, 0, "backend cpu\n");
  for (std::uint64_t ticket = 0; ticket < 2; ++ticket) {
    block data = filled(ticket, std::size_t{16} << 20, static_cast<int>(ticket));
    // So long after the last write, a note is written at once; the digest of the data takes longer.
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    EXPECT_TRUE(writer->add(std::move(data)));
    from.want(ticket + 1);
    writer->wake();
    while (true) {
      const auto file = journal_file::open(path_).value();
      if (!file.devices().contains(0)) continue;
      const auto& requests = file.devices().at(0).requests;
      const auto found = requests.find(ticket);
      if (found == requests.end() || !found->second.end) continue;
      ASSERT_EQ(found->second.contents.size(), 1U) << ticket;
      EXPECT_TRUE(file.bytes(found->second.contents[0]));
      break;
    }
  }
  writer->remove(from);
}

TEST_F(JournalFile, LeavesOutWhatDoesNotFitItsQueue) {
  auto writer = journal_writer::open(path_, {.queue_bytes = std::uint64_t{1} << 20}).value();
  int taken = 0;
  for (int i = 0; i < 50; ++i)
    taken += writer->add(filled(1, std::size_t{1} << 20, i)) ? 1 : 0;
  EXPECT_GE(taken, 1);
  auto waits = journal_writer::open(path_ + "2", {.behind = journal_options::when_behind::wait,
                                                  .queue_bytes = std::uint64_t{1} << 20})
                   .value();
  for (int i = 0; i < 20; ++i)
    EXPECT_TRUE(waits->add(filled(1, std::size_t{1} << 20, i)));
  EXPECT_TRUE(waits->flush());
  EXPECT_EQ(waits->statistics().contents, 20U);
  std::filesystem::remove(path_ + "2");
}

TEST_F(JournalFile, EndsWhereItFallsBehindIfItIsTo) {
  auto writer = journal_writer::open(path_, {.behind = journal_options::when_behind::stop,
                                             .queue_bytes = std::uint64_t{1} << 20})
                    .value();
  source from;
  writer->add(from, 0, "backend cpu\n");
  from.want(10);
  EXPECT_TRUE(writer->flush());
  // The second is behind if the first, which fills the queue, is not written yet.
  bool taken = true;
  for (int i = 0; i < 100 && taken; ++i) {
    EXPECT_TRUE(writer->add(filled(10, std::size_t{8} << 20, i)));
    taken = writer->add(filled(10, 1, i));
    if (taken) writer->flush();
  }
  EXPECT_FALSE(taken);
  EXPECT_NE(writer->statistics().stopped.find("keep up"), std::string::npos)
      << writer->statistics().stopped;
  EXPECT_EQ(writer->statistics().waits, 0U);
  EXPECT_FALSE(writer->add(filled(11, 1, 1)));
  from.want(20);
  EXPECT_FALSE(writer->flush());
  writer->remove(from);
  writer.reset();
  const auto file = journal_file::open(path_).value();
  EXPECT_EQ(file.devices().at(0).requests.size(), 10U);
  EXPECT_NE(file.damage().find("not closed"), std::string::npos) << file.damage();
}

TEST_F(JournalFile, CanBeDroppedInACopyOfTheProgram) {
  auto writer = journal_writer::open(path_, {}).value();
  EXPECT_TRUE(writer->add(filled(1, 100, 5)));
  EXPECT_TRUE(writer->flush());  // its threads wait
  const pid_t child = ::fork();
  ASSERT_NE(child, -1);
  if (child == 0) {
    ::alarm(60);
    writer.reset();
    ::_exit(0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(writer->add(filled(2, 100, 6)));
  EXPECT_TRUE(writer->flush());
  writer.reset();
  EXPECT_EQ(journal_file::open(path_).value().damage(), "");
}

TEST(NoteQueue, LosesAndMixesNothing) {
  constexpr std::uint64_t each = 1'500;  // the queue goes round 40 times
  constexpr std::uint64_t senders = 3;
  note_queue queue(std::size_t{1} << 14);
  std::vector<std::jthread> threads;
  threads.reserve(senders);
  for (std::uint64_t s = 0; s < senders; ++s) {
    threads.emplace_back([&queue, s] {
      for (std::uint64_t i = 0; i < each; ++i) {
        const std::size_t words = 1 + (i * 7 + s) % 40;
        std::byte* at = nullptr;
        while ((at = queue.reserve(words * 8)) == nullptr)
          std::this_thread::yield();
        const std::uint64_t value = s << 32 | i;
        for (std::size_t w = 0; w < words; ++w)
          std::memcpy(at + w * 8, &value, sizeof(value));
        queue.commit(at, words * 8);
      }
    });
  }
  std::array<std::uint64_t, senders> next{};
  std::uint64_t wrong = 0;
  for (std::uint64_t taken = 0; taken < senders * each;) {
    queue.take([&](std::span<const std::byte> bytes) {
      std::vector<std::uint64_t> words(bytes.size() / 8);
      std::memcpy(words.data(), bytes.data(), bytes.size());
      const std::uint64_t sender = words[0] >> 32;
      const std::uint64_t number = words[0] & 0xffffffff;
      wrong += number != next[sender]++ ? 1U : 0U;
      wrong += words.size() != 1 + (number * 7 + sender) % 40 ? 1U : 0U;
      for (const std::uint64_t word : words)
        wrong += word != words[0] ? 1U : 0U;
      ++taken;
    });
  }
  EXPECT_EQ(wrong, 0U);
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.reserve(std::size_t{1} << 14), nullptr);
}

TEST(HostContents, AreTheProgramsWhereNoRequestWrites) {
  host_contents host;
  const auto parts = [&](unsigned begin, unsigned end) {
    std::string text;
    for (const auto& one : host.left_by_program({begin, end}, 99))
      text += std::to_string(one.begin) + "-" + std::to_string(one.end) + " ";
    return text;
  };
  EXPECT_EQ(parts(0, 100), "0-100 ");
  host.will_write(1, {20, 30});
  host.will_write(2, {90, 200});
  EXPECT_EQ(parts(0, 100), "0-20 30-90 ");
  EXPECT_EQ(parts(22, 25), "");
  host.forget(1);
  EXPECT_EQ(parts(0, 100), "0-90 ");
  const std::vector<std::byte> some(10, std::byte{3});
  EXPECT_FALSE(host.knows(40, some));
  host.tell(40, some);
  EXPECT_TRUE(host.knows(40, some));
  host.will_write(3, {49, 50});
  EXPECT_FALSE(host.knows(40, some));
}

TEST(Checksum, IsThatOfTheStandard) {
  // RFC 3720, appendix B.4
  EXPECT_EQ(checksum_of(std::vector<std::byte>(32)), 0x8a9136aaU);
  EXPECT_EQ(checksum_of(std::vector<std::byte>(32, std::byte{0xff})), 0x62a8ab43U);
}

}  // namespace
}  // namespace troupe::journal
