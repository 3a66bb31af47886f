# Installs Troupe into a prefix of the test's own, moves the tree, and builds and runs against it the
# consumer, the worked example, word for word as CONTRIBUTING.md has it, and the example of a plugin.
# In: BUILD (Troupe's build tree), SOURCE (this folder), SCRATCH, GENERATOR, COMPILER, COMPONENTS
# (those of this build, with commas).

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# Writes the quoted files of the page into a folder: blocks of one file follow each other.
function(follow page folder)
  file(READ ${page} rest)
  set(marker "<!-- region: tests/unit/worked_example/")
  string(FIND "${rest}" "${marker}" at)
  while(NOT at EQUAL -1)
    string(LENGTH "${marker}" length)
    math(EXPR at "${at} + ${length}")
    string(SUBSTRING "${rest}" ${at} -1 rest)
    string(REGEX MATCH "^[a-z_.]+" file "${rest}")
    string(FIND "${rest}" "```cpp\n" begin)
    math(EXPR begin "${begin} + 7")
    string(SUBSTRING "${rest}" ${begin} -1 rest)
    string(FIND "${rest}" "```" end)
    string(SUBSTRING "${rest}" 0 ${end} text)
    file(APPEND ${folder}/${file} "${text}")
    string(FIND "${rest}" "${marker}" at)
  endwhile()
endfunction()

file(REMOVE_RECURSE ${SCRATCH})
follow(${SOURCE}/../../CONTRIBUTING.md ${SCRATCH}/page)
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${SCRATCH}/first)
file(RENAME ${SCRATCH}/first ${SCRATCH}/moved)
run(${CMAKE_COMMAND} -S ${SOURCE} -B ${SCRATCH}/build -G ${GENERATOR}
    -D CMAKE_CXX_COMPILER=${COMPILER} -D CMAKE_PREFIX_PATH=${SCRATCH}/moved
    -D COMPONENTS=${COMPONENTS} -D PAGE=${SCRATCH}/page)
run(${CMAKE_COMMAND} --build ${SCRATCH}/build)
run(${CMAKE_COMMAND} -E env --unset=TROUPE_WORKER ${SCRATCH}/build/consumer)
run(${CMAKE_COMMAND} -E env TROUPE_BACKEND=cpu ${SCRATCH}/build/worked_example)
run(${SCRATCH}/moved/bin/troupe info)

# The plugin of examples/plugin, as a project by itself.
run(${CMAKE_COMMAND} -S ${SOURCE}/../../examples/plugin -B ${SCRATCH}/plugin -G ${GENERATOR}
    -D CMAKE_CXX_COMPILER=${COMPILER} -D CMAKE_PREFIX_PATH=${SCRATCH}/moved)
run(${CMAKE_COMMAND} --build ${SCRATCH}/plugin)
run(${CMAKE_COMMAND} -E env --unset=TROUPE_WORKER TROUPE_BACKEND=cpu ${SCRATCH}/plugin/example_plugin
    ${SCRATCH}/plugin/libimage.so)
