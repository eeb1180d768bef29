//! The format texts of `struct`: options, sizes and alignment.

use super::Arguments;

/// Reads a format, option by option.
pub(super) struct Format<'a> {
    arguments: &'a Arguments<'a>,
    text: &'a [u8],
    at: usize,
    pub little: bool,
    align: u64,
}

/// An option with its size.
pub(super) struct Piece {
    pub option: u8,
    pub size: u64,
}

impl<'a> Format<'a> {
    /// A format, which is a C string.
    pub(super) fn new(arguments: &'a Arguments<'a>, text: &'a [u8]) -> Format<'a> {
        let end = text.iter().position(|byte| *byte == 0);
        Format {
            arguments,
            text: &text[..end.unwrap_or(text.len())],
            at: 0,
            little: true,
            align: 1,
        }
    }

    /// The next option.
    pub(super) fn next(&mut self) -> mlua::Result<Option<Piece>> {
        let Some(&option) = self.text.get(self.at) else {
            return Ok(None);
        };
        self.at += 1;
        let size = match option {
            b'b' | b'B' | b'x' => 1,
            b'h' | b'H' => 2,
            b'f' => 4,
            b'l' | b'L' | b'T' | b'd' => 8,
            b'c' => self.number(1)?,
            b'i' | b'I' => {
                let size = self.number(4)?;
                if size > 32 {
                    let text = format!("integral size {size} is larger than limit of 32");
                    return Err(self.arguments.error(&text));
                }
                size
            }
            _ => 0,
        };
        Ok(Some(Piece { option, size }))
    }

    fn number(&mut self, without: u64) -> mlua::Result<u64> {
        let digits = self.text[self.at..].iter();
        let digits: Vec<u8> = digits.copied().take_while(u8::is_ascii_digit).collect();
        if digits.is_empty() {
            return Ok(without);
        }
        self.at += digits.len();
        let number = digits.iter().try_fold(0u64, |number, digit| {
            let number = number * 10 + u64::from(digit - b'0');
            (number <= i32::MAX as u64).then_some(number)
        });
        number.ok_or_else(|| self.arguments.error("integral size overflow"))
    }

    /// How many bytes stand before a piece, so that it is aligned.
    pub(super) fn padding(&self, length: u64, piece: &Piece) -> u64 {
        if piece.size == 0 || piece.option == b'c' {
            return 0;
        }
        let size = piece.size.min(self.align);
        (size - (length & (size - 1))) & (size - 1)
    }

    /// An option that stands for no value.
    pub(super) fn control(&mut self, option: u8) -> mlua::Result<()> {
        match option {
            b' ' => {}
            b'<' => self.little = true,
            b'>' => self.little = false,
            b'!' => {
                let align = self.number(8)?;
                if !align.is_power_of_two() {
                    let text = format!("alignment {align} is not a power of 2");
                    return Err(self.arguments.error(&text));
                }
                self.align = align;
            }
            _ => {
                let option = [option];
                let option = String::from_utf8_lossy(&option);
                let why = format!("invalid format option '{option}'");
                return Err(self.arguments.bad(1, &why));
            }
        }
        Ok(())
    }
}
