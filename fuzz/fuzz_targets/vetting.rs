//! Kubeconfigs from anywhere: the first byte stands for a policy, the rest is the text.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mcrt::fuzzing::vetting(data));
