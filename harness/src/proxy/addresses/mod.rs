//! Replaces the addresses that Sentinels and Cluster servers announce with addresses of the proxy.

pub(super) mod address_rewrite;
pub(super) mod cluster_addresses;
pub(super) mod cluster_link;
pub(super) mod cluster_topology;
pub(super) mod sentinel_link;
