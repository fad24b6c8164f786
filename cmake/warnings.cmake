# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# hmr_warnings: what every target of this project is compiled with.
add_library(hmr_warnings INTERFACE)
target_compile_options(hmr_warnings INTERFACE
	-Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes
	-Wwrite-strings -Wformat=2 -Wcast-align -Wvla -Wundef
	-Wno-unused-parameter -Wno-missing-field-initializers)
target_compile_definitions(hmr_warnings INTERFACE _GNU_SOURCE)
if(HMR_WERROR)
	target_compile_options(hmr_warnings INTERFACE -Werror)
endif()
if(HMR_SANITIZE)
	target_compile_options(hmr_warnings INTERFACE
		-fsanitize=${HMR_SANITIZE} -fno-sanitize-recover=all
		-fno-omit-frame-pointer)
	target_link_options(hmr_warnings INTERFACE
		-fsanitize=${HMR_SANITIZE})
endif()
