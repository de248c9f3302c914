//! Which addresses belong to the public internet.

#[cfg(test)]
mod tests;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What an address belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressKind {
    /// The public internet.
    Public,
    /// This machine or a network that not everybody can reach: loopback, private, shared.
    Private,
    /// Nothing that a tool has any business with: link-local, metadata services of clouds, multicast, broadcast, reserved,
    /// tunnels.
    Never,
}

/// Services that hand out the credentials of a machine to whoever asks from inside; those at link-local addresses are
/// refused with all of them. The first looks public.
const METADATA_V4: [Ipv4Addr; 2] = [Ipv4Addr::new(168, 63, 129, 16), Ipv4Addr::new(100, 100, 100, 200)];
const METADATA_V6: [Ipv6Addr; 4] = [
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23),
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42),
];

/// Says what an address belongs to. An IPv4 address inside an IPv6 one counts as the IPv4 one.
pub fn kind_of(address: IpAddr) -> AddressKind {
    match address {
        IpAddr::V4(address) => kind_of_v4(address),
        IpAddr::V6(address) => kind_of_v6(address),
    }
}

fn kind_of_v4(address: Ipv4Addr) -> AddressKind {
    if METADATA_V4.contains(&address) {
        return AddressKind::Never;
    }
    match address.octets() {
        [10, ..] | [127, ..] | [192, 168, ..] => AddressKind::Private,
        // Link-local: the neighbours of this machine, and what clouds put there.
        [169, 254, ..] => AddressKind::Never,
        [172, second, ..] if second & 0xf0 == 16 => AddressKind::Private,
        // Shared by the customers of a provider.
        [100, second, ..] if second & 0xc0 == 64 => AddressKind::Private,
        // For measuring inside a network.
        [198, 18 | 19, ..] => AddressKind::Private,
        // This network, protocol assignments, documentation, old relays.
        [0, ..] | [192, 0, 0 | 2, _] | [198, 51, 100, _] | [203, 0, 113, _] | [192, 88, 99, _] => AddressKind::Never,
        // Multicast, reserved, broadcast.
        [224..=255, ..] => AddressKind::Never,
        _ => AddressKind::Public,
    }
}

fn kind_of_v6(address: Ipv6Addr) -> AddressKind {
    if METADATA_V6.contains(&address) {
        return AddressKind::Never;
    }
    if address == Ipv6Addr::LOCALHOST {
        return AddressKind::Private;
    }
    match address.segments() {
        // Mapped, and translated by a well-known gateway: what is meant is the IPv4 address.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => kind_of_v4(v4(high, low)),
        // Translated by a gateway of this network.
        [0x64, 0xff9b, 1, _, _, _, high, low] => match kind_of_v4(v4(high, low)) {
            AddressKind::Never => AddressKind::Never,
            AddressKind::Public | AddressKind::Private => AddressKind::Private,
        },
        // Unique local, and what was called site-local.
        [0xfc00..=0xfdff, ..] | [0xfec0..=0xfeff, ..] => AddressKind::Private,
        // Link-local.
        [0xfe80..=0xfebf, ..] => AddressKind::Never,
        // Tunnels that carry any IPv4 address: Teredo, 6to4, ISATAP.
        [0x2001, 0, ..] | [0x2002, ..] | [_, _, _, _, 0 | 0x200, 0x5efe, ..] => AddressKind::Never,
        // Protocol assignments and documentation.
        [0x2001, 0x1..=0x1ff, ..] | [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => AddressKind::Never,
        // All that was ever given to the public.
        [0x2000..=0x3fff, ..] => AddressKind::Public,
        _ => AddressKind::Never,
    }
}

fn v4(high: u16, low: u16) -> Ipv4Addr {
    let [a, b] = high.to_be_bytes();
    let [c, d] = low.to_be_bytes();
    Ipv4Addr::new(a, b, c, d)
}
