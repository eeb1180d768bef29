// The part of JSON that the adapter protocol needs: the JDK has no JSON library.

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** Values are Map, List, String, Long, Double, Boolean and null. */
final class SmallJson {
    private final String text;
    private int at;

    private SmallJson(String text) {
        this.text = text;
    }

    /** Parses a text. Returns null for null, and also if the text is not JSON. */
    static Object parse(String text) {
        try {
            SmallJson json = new SmallJson(text);
            Object value = json.value();
            return json.peek() == '\0' ? value : null;
        } catch (IllegalArgumentException | IndexOutOfBoundsException problem) {
            return null;
        }
    }

    static String write(Object value) {
        if (value instanceof Map<?, ?> map) {
            return map.entrySet().stream()
                    .map(entry -> write(entry.getKey()) + ":" + write(entry.getValue()))
                    .collect(Collectors.joining(",", "{", "}"));
        }
        if (value instanceof List<?> list) {
            return list.stream().map(SmallJson::write).collect(Collectors.joining(",", "[", "]"));
        }
        return value instanceof String word ? quoted(word) : String.valueOf(value);
    }

    private static String quoted(String word) {
        StringBuilder out = new StringBuilder("\"");
        for (char c : word.toCharArray()) {
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c < ' ') {
                out.append(String.format("\\u%04x", (int) c));
            } else {
                out.append(c);
            }
        }
        return out.append('"').toString();
    }

    private Object value() {
        switch (peek()) {
            case '{':
                return object();
            case '[':
                return array();
            case '"':
                return string();
            default:
                return word();
        }
    }

    private Map<String, Object> object() {
        Map<String, Object> map = new LinkedHashMap<>();
        expect('{');
        while (peek() != '}') {
            peek();
            String name = string();
            expect(':');
            map.put(name, value());
            comma('}');
        }
        expect('}');
        return map;
    }

    private List<Object> array() {
        List<Object> list = new ArrayList<>();
        expect('[');
        while (peek() != ']') {
            list.add(value());
            comma(']');
        }
        expect(']');
        return list;
    }

    private void comma(char end) {
        if (peek() != end) {
            expect(',');
        }
    }

    private String string() {
        StringBuilder out = new StringBuilder();
        expect('"');
        while (text.charAt(at) != '"') {
            char c = text.charAt(at++);
            out.append(c == '\\' ? escaped() : c);
        }
        at++;
        return out.toString();
    }

    private char escaped() {
        char c = text.charAt(at++);
        int plain = "bfnrt".indexOf(c);
        if (plain >= 0) {
            return "\b\f\n\r\t".charAt(plain);
        }
        if (c != 'u') {
            return c;
        }
        at += 4;
        return (char) Integer.parseInt(text.substring(at - 4, at), 16);
    }

    private Object word() {
        int from = at;
        while (at < text.length() && "{}[],: \t\r\n".indexOf(text.charAt(at)) < 0) {
            at++;
        }
        String word = text.substring(from, at);
        switch (word) {
            case "null":
                return null;
            case "true", "false":
                return Boolean.valueOf(word);
            default:
                // The seed is an unsigned number, which may be too large for a Long.
                return word.matches("-?\\d{1,18}") ? Long.valueOf(word) : (Object) Double.valueOf(word);
        }
    }

    /** Skips white space, and returns the next character without consuming it, or NUL at the end. */
    private char peek() {
        while (at < text.length() && Character.isWhitespace(text.charAt(at))) {
            at++;
        }
        return at < text.length() ? text.charAt(at) : '\0';
    }

    private void expect(char wanted) {
        if (peek() != wanted) {
            throw new IllegalArgumentException("expected " + wanted + " at " + at);
        }
        at++;
    }
}
