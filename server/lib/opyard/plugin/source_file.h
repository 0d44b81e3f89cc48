#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace opyard::plugin {

// The largest file that is taken for a plugin or for a library that it brings along.
constexpr uint64_t kLargestFile = uint64_t{1} << 30;

// A file that is opened once; whatever is asked about it afterwards concerns the same bytes,
// whatever happens to its name. Not thread-safe.
class SourceFile {
 public:
  // Raises NOT_FOUND when it is not there or cannot be read; FAILED_PRECONDITION for a symbolic
  // link, for what is no regular file, for one that is empty or larger than kLargestFile, and for a
  // name with characters that do not print.
  explicit SourceFile(const std::string& path);
  // The same for a name that may be a symbolic link: the file that it leads to, by at most eight
  // links. check_owner then looks at the folder of each link, too.
  static SourceFile follow(const std::string& path);
  SourceFile(SourceFile&& other) noexcept;
  SourceFile& operator=(SourceFile&&) = delete;
  ~SourceFile();

  const std::string& path() const noexcept { return path_; }
  const std::string& name() const noexcept { return name_; }  // its last part
  uint64_t size() const noexcept { return size_; }
  int descriptor() const noexcept { return file_; }
  // The folder that it was found in, or -1 when that cannot be read.
  int folder() const noexcept { return folder_; }

  // Raises PERMISSION_DENIED, with the mode, unless the file and its folder belong to root or to
  // the effective user and only the owner may write to them.
  void check_owner() const;
  // Whether that was asked, and went well: libraries that it brings along are held to the same.
  bool owner_is_checked() const noexcept { return owner_is_checked_; }

 private:
  std::string path_;
  std::string name_;
  int folder_ = -1;
  std::vector<int> link_folders_;
  int file_ = -1;
  uint64_t size_ = 0;
  mutable bool owner_is_checked_ = false;
};

// SourceFile(path).check_owner(), for those that only want to know.
void check_owner(const std::string& path);

// For messages: text from a file, cut at 80 characters, with '?' for what does not print.
std::string shown(std::string_view text);

}  // namespace opyard::plugin
