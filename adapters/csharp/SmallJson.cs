// The part of JSON that the adapter protocol needs: Mono has no JSON library.

using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Text;

namespace MyLock
{
    /// <summary>Values are Dictionary, List, string, long, double, bool and null.</summary>
    internal sealed class SmallJson
    {
        private readonly string text;
        private int at;

        private SmallJson(string text)
        {
            this.text = text;
        }

        /// <summary>Parses a text. Returns null for null, and also if the text is not JSON.</summary>
        public static object Parse(string text)
        {
            try
            {
                var json = new SmallJson(text);
                var value = json.Value();
                return json.Peek() == '\0' ? value : null;
            }
            catch (FormatException)
            {
                return null;
            }
        }

        public static string Write(object value)
        {
            if (value is Dictionary<string, object> fields)
            {
                return "{" + string.Join(",", fields.Select(field => Quoted(field.Key) + ":" + Write(field.Value))) + "}";
            }
            if (value is bool truth)
            {
                return truth ? "true" : "false";
            }
            return value is string word ? Quoted(word)
                : value == null ? "null" : Convert.ToString(value, CultureInfo.InvariantCulture);
        }

        private static string Quoted(string word)
        {
            var quoted = new StringBuilder("\"");
            foreach (var c in word)
            {
                if (c == '"' || c == '\\')
                {
                    quoted.Append('\\').Append(c);
                }
                else if (c < ' ')
                {
                    quoted.Append("\\u").Append(((int)c).ToString("x4", CultureInfo.InvariantCulture));
                }
                else
                {
                    quoted.Append(c);
                }
            }
            return quoted.Append('"').ToString();
        }

        /// <summary>Skips white space, and returns the next character without consuming it, or NUL at the
        /// end.</summary>
        private char Peek()
        {
            while (at < text.Length && char.IsWhiteSpace(text[at]))
            {
                at++;
            }
            return at < text.Length ? text[at] : '\0';
        }

        private char Next() => at < text.Length ? text[at++] : throw new FormatException();

        /// <summary>Skips the wanted character if it is next, and returns whether it was.</summary>
        private bool Skip(char wanted)
        {
            var comes = Peek() == wanted;
            at += comes ? 1 : 0;
            return comes;
        }

        private void Expect(char wanted)
        {
            if (!Skip(wanted))
            {
                throw new FormatException();
            }
        }

        private object Value()
        {
            switch (Peek())
            {
                case '{':
                    var fields = new Dictionary<string, object>();
                    Items('}', () =>
                    {
                        Peek();
                        var name = Text();
                        Expect(':');
                        fields[name] = Value();
                    });
                    return fields;
                case '[':
                    var items = new List<object>();
                    Items(']', () => items.Add(Value()));
                    return items;
                case '"':
                    return Text();
                default:
                    return Word();
            }
        }

        private void Items(char close, Action item)
        {
            Next();
            if (Skip(close))
            {
                return;
            }
            do
            {
                item();
            } while (Skip(','));
            Expect(close);
        }

        private string Text()
        {
            Expect('"');
            var read = new StringBuilder();
            for (var c = Next(); c != '"'; c = Next())
            {
                read.Append(c == '\\' ? Escaped() : c);
            }
            return read.ToString();
        }

        private char Escaped()
        {
            var c = Next();
            switch (c)
            {
                case 'b':
                    return '\b';
                case 'f':
                    return '\f';
                case 'n':
                    return '\n';
                case 'r':
                    return '\r';
                case 't':
                    return '\t';
                case 'u':
                    var digits = new string(new[] { Next(), Next(), Next(), Next() });
                    return (char)ushort.Parse(digits, NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture);
                default:
                    return c;
            }
        }

        private object Word()
        {
            var from = at;
            while (at < text.Length && (char.IsLetterOrDigit(text[at]) || "+-.".IndexOf(text[at]) >= 0))
            {
                at++;
            }
            var word = text.Substring(from, at - from);
            switch (word)
            {
                case "null":
                    return null;
                case "true":
                case "false":
                    return word == "true";
                default:
                    var isWhole = long.TryParse(word, NumberStyles.Integer, CultureInfo.InvariantCulture, out var whole);
                    return isWhole ? whole : (object)double.Parse(word, CultureInfo.InvariantCulture);
            }
        }
    }
}
