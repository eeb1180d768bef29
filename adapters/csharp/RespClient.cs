// A Redis client of a few lines, so that the example lock runs without a library. Real adapters use
// the client library that the lock itself uses; then delete this file.
// UNTRIED: see PicklockAdapter.cs.

using System.Globalization;
using System.Net.Sockets;
using System.Text;

namespace MyLock;

/// <summary>One connection to one server. It is opened when a command needs it, and closed when a command
/// fails: a late reply must not be taken for the reply to the next command. Nothing is sent
/// twice.</summary>
public sealed class RespClient
{
    private readonly Uri node;
    private readonly TimeSpan timeout;
    private TcpClient? connection;
    private BufferedStream? replies;

    public RespClient(string url, TimeSpan timeout)
    {
        node = new Uri(url);
        if (node.Scheme != "redis")
        {
            throw new DefiniteException($"{url}: only redis://HOST:PORT is supported");
        }
        this.timeout = timeout;
    }

    /// <summary>The reply: a string, a long, or null. An error reply is thrown as DefiniteException: the
    /// server has refused the command.</summary>
    public async Task<object?> Command(params object[] words)
    {
        using var deadline = new CancellationTokenSource(timeout);
        try
        {
            if (connection is null || replies is null)
            {
                connection = new TcpClient { NoDelay = true };
                await connection.ConnectAsync(node.Host, node.Port, deadline.Token);
                replies = new BufferedStream(connection.GetStream());
            }
            await connection.GetStream().WriteAsync(Encode(words), deadline.Token);
            return await Reply(replies, deadline.Token);
        }
        catch (Exception problem) when (problem is not DefiniteException)
        {
            connection?.Dispose();
            (connection, replies) = (null, null);
            throw;
        }
    }

    private static byte[] Encode(object[] words)
    {
        var text = new StringBuilder($"*{words.Length}\r\n");
        foreach (var word in words)
        {
            var plain = Convert.ToString(word, CultureInfo.InvariantCulture) ?? "";
            text.Append($"${Encoding.UTF8.GetByteCount(plain)}\r\n{plain}\r\n");
        }
        return Encoding.UTF8.GetBytes(text.ToString());
    }

    private static async Task<object?> Reply(Stream stream, CancellationToken deadline)
    {
        var line = await Line(stream, deadline);
        var rest = line[1..];
        switch (line[0])
        {
            case '+':
                return rest;
            case '-':
                throw new DefiniteException(rest);
            case ':':
                return long.Parse(rest, CultureInfo.InvariantCulture);
            case '$':
                var length = int.Parse(rest, CultureInfo.InvariantCulture);
                if (length < 0)
                {
                    return null;
                }
                var bytes = new byte[length + 2];
                await stream.ReadExactlyAsync(bytes, deadline);
                return Encoding.UTF8.GetString(bytes, 0, length);
            default:
                throw new IOException($"unexpected reply {line}");
        }
    }

    private static async Task<string> Line(Stream stream, CancellationToken deadline)
    {
        var line = new List<byte>();
        var next = new byte[1];
        do
        {
            await stream.ReadExactlyAsync(next, deadline);
            line.Add(next[0]);
        } while (next[0] != (byte)'\n');
        return Encoding.UTF8.GetString(line.ToArray()).TrimEnd('\r', '\n');
    }
}
