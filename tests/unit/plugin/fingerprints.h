#pragma once

// The fingerprint as builds of other kinds would have it.
const char* fingerprint_with_checked_containers();
const char* fingerprint_with_has_feature();
