# Installs Troupe into a prefix of the test's own, moves the tree, and builds and runs the consumer
# against it. In: BUILD (Troupe's build tree), SOURCE (this folder), SCRATCH, GENERATOR, COMPILER,
# COMPONENTS (those of this build, with commas).

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${SCRATCH})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${SCRATCH}/first)
file(RENAME ${SCRATCH}/first ${SCRATCH}/moved)
run(${CMAKE_COMMAND} -S ${SOURCE} -B ${SCRATCH}/build -G ${GENERATOR}
    -D CMAKE_CXX_COMPILER=${COMPILER} -D CMAKE_PREFIX_PATH=${SCRATCH}/moved
    -D COMPONENTS=${COMPONENTS})
run(${CMAKE_COMMAND} --build ${SCRATCH}/build)
run(${CMAKE_COMMAND} -E env --unset=TROUPE_WORKER ${SCRATCH}/build/consumer)
run(${SCRATCH}/moved/bin/troupe info)
