//! Macros for values that files contain as strings.

/// Returns `true` if a value is the default, which files omit.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Declares an enum with the strings that serde uses for its variants.
macro_rules! string_enum {
    (
        $(#[$about:meta])*
        $type:ident {
            $($(#[$doc:meta])* $variant:ident = $word:literal,)*
        }
    ) => {
        $(#[$about])*
        pub enum $type {
            $($(#[$doc])* $variant,)*
        }

        impl $type {
            /// All variants, in the order of declaration.
            pub const ALL: [$type; [$($word),*].len()] = [$($type::$variant),*];

            /// Returns the string that files use.
            pub fn as_str(self) -> &'static str {
                match self {
                    $($type::$variant => $word,)*
                }
            }
        }
    };
}
pub(crate) use string_enum;

/// Implements `named` and `Display` for an enum that has `ALL` and `as_str`.
macro_rules! impl_named {
    ($type:ident) => {
        impl $type {
            /// Returns the variant with this string.
            pub fn named(word: &str) -> Option<$type> {
                $type::ALL.into_iter().find(|one| one.as_str() == word)
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}
pub(crate) use impl_named;

/// Implements serde's traits for a type that files contain as a string, using its `Display` and `FromStr`.
macro_rules! serde_as_string {
    ($type:ty) => {
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <String as serde::Deserialize>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
    };
}
pub(crate) use serde_as_string;
