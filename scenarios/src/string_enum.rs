//! How values are written in files.

/// True for what files leave out.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Declares an enum whose variants have the words by which serde knows them, too.
macro_rules! words {
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
            /// All of them, in the order of declaration.
            pub const ALL: [$type; [$($word),*].len()] = [$($type::$variant),*];

            /// Its word, as files have it.
            pub fn as_str(self) -> &'static str {
                match self {
                    $($type::$variant => $word,)*
                }
            }
        }
    };
}
pub(crate) use words;

/// Implements what follows from the words of an enum that has `ALL` and `word`.
macro_rules! known_by_word {
    ($type:ident) => {
        impl $type {
            /// The one that has this word.
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
pub(crate) use known_by_word;

/// Implements serde's traits for a type that files have as one text, by its `Display` and `FromStr`.
macro_rules! written_as_text {
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
pub(crate) use written_as_text;
