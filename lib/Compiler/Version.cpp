//===- Version.cpp - libfa3: which compiler this is -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The build ID is the note that the linker writes: a hash of the library.
//===----------------------------------------------------------------------===//

#include "fa3-c/Compiler.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>
#include <elf.h>
#include <link.h>
#include <string>

int fa3_compiler_abi() { return FA3_COMPILER_ABI; }
const char *fa3_version() { return FA3_VERSION; }
const char *fa3_llvm_version() { return LLVM_VERSION_STRING; }

/// The build ID among the notes of a segment; empty if there is none.
static std::string findBuildId(const char *notes, size_t size) {
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) header;
    std::memcpy(&header, notes, sizeof header);
    const char *name = notes + sizeof header;
    const char *content = name + llvm::alignTo(header.n_namesz, 4);
    if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == 4 &&
        !std::memcmp(name, "GNU", 4))
      return llvm::toHex(llvm::StringRef(content, header.n_descsz),
                         /*LowerCase=*/true);
    size_t step = content + llvm::alignTo(header.n_descsz, 4) - notes;
    if (step > size)
      break;
    notes += step;
    size -= step;
  }
  return {};
}

/// Looks at one loaded object: whether it holds this function, and its notes.
static int visitObject(struct dl_phdr_info *object, size_t, void *data) {
  auto self = reinterpret_cast<uintptr_t>(&visitObject);
  bool isOurs = false;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr) &segment = object->dlpi_phdr[i];
    uintptr_t start = object->dlpi_addr + segment.p_vaddr;
    isOurs |= segment.p_type == PT_LOAD && self >= start &&
              self < start + segment.p_memsz;
  }
  if (!isOurs)
    return 0;
  std::string &id = *static_cast<std::string *>(data);
  for (int i = 0; i < object->dlpi_phnum && id.empty(); ++i) {
    const ElfW(Phdr) &segment = object->dlpi_phdr[i];
    if (segment.p_type == PT_NOTE)
      id = findBuildId(
          reinterpret_cast<const char *>(object->dlpi_addr + segment.p_vaddr),
          segment.p_memsz);
  }
  return 1;
}

const char *fa3_build_id() {
  static const std::string id = [] {
    std::string found;
    dl_iterate_phdr(visitObject, &found);
    return found;
  }();
  return id.c_str();
}
