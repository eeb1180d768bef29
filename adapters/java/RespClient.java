// A minimal Redis client, so that the example lock runs without a library. A real adapter should use the lock's own
// client library; then delete this file.

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ConcurrentLinkedDeque;

/** A pool of connections to one server, for any number of threads. A connection is opened when a command needs it, and
 * closed when a command fails, so that a late reply is not mistaken for the reply to the next command. No command is
 * sent twice. */
final class RespClient {
    private final InetSocketAddress address;
    private final int timeoutMs;
    private final ConcurrentLinkedDeque<Connection> idle = new ConcurrentLinkedDeque<>();

    private record Connection(Socket socket, InputStream replies) {}

    RespClient(String url, int timeoutMs) {
        URI parts = URI.create(url);
        if (!"redis".equals(parts.getScheme())) {
            throw new PicklockAdapter.Definite(url + ": only redis://HOST:PORT is supported");
        }
        this.address = new InetSocketAddress(parts.getHost(), parts.getPort());
        this.timeoutMs = timeoutMs;
    }

    /** Returns the reply: a String, a Long, or null. An error reply is thrown as Definite, because the server has
     * refused the command. */
    Object command(Object... words) throws IOException {
        Connection known = idle.pollFirst();
        Connection connection = known == null ? open() : known;
        try {
            connection.socket().getOutputStream().write(encode(words));
            Object reply = reply(connection.replies());
            idle.addFirst(connection);
            return reply;
        } catch (PicklockAdapter.Definite refused) {
            idle.addFirst(connection);
            throw refused;
        } catch (IOException problem) {
            connection.socket().close();
            throw problem;
        }
    }

    private Connection open() throws IOException {
        Socket socket = new Socket();
        try {
            socket.connect(address, timeoutMs);
            socket.setSoTimeout(timeoutMs);
            socket.setTcpNoDelay(true);
            return new Connection(socket, new BufferedInputStream(socket.getInputStream()));
        } catch (IOException problem) {
            socket.close();
            throw problem;
        }
    }

    private static byte[] encode(Object[] words) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        out.write(("*" + words.length + "\r\n").getBytes(StandardCharsets.UTF_8));
        for (Object word : words) {
            byte[] bytes = word.toString().getBytes(StandardCharsets.UTF_8);
            out.write(("$" + bytes.length + "\r\n").getBytes(StandardCharsets.UTF_8));
            out.write(bytes);
            out.write("\r\n".getBytes(StandardCharsets.UTF_8));
        }
        return out.toByteArray();
    }

    private static Object reply(InputStream replies) throws IOException {
        String line = line(replies);
        String rest = line.substring(1);
        switch (line.charAt(0)) {
            case '+':
                return rest;
            case '-':
                throw new PicklockAdapter.Definite(rest);
            case ':':
                return Long.valueOf(rest);
            case '$':
                int length = Integer.parseInt(rest);
                if (length < 0) {
                    return null;
                }
                byte[] bytes = replies.readNBytes(length + 2);
                if (bytes.length < length + 2) {
                    throw new EOFException("the server closed the connection");
                }
                return new String(bytes, 0, length, StandardCharsets.UTF_8);
            default:
                throw new IOException("unexpected reply " + line);
        }
    }

    private static String line(InputStream replies) throws IOException {
        StringBuilder line = new StringBuilder();
        for (int c = replies.read(); c != '\n'; c = replies.read()) {
            if (c < 0) {
                throw new EOFException("the server closed the connection");
            }
            line.append((char) c);
        }
        line.setLength(line.length() - 1);
        return line.toString();
    }
}
