// A minimal Redis client, so that the example lock runs without a library. A real adapter should use the lock's own
// client library; then delete this file.

using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Net.Sockets;
using System.Text;
using System.Threading.Tasks;

namespace MyLock
{
    /// <summary>A pool of connections to one server, for any number of tasks. A connection is opened when a command
    /// needs it, and closed when a command fails, so that a late reply is not mistaken for the reply to the next
    /// command. No command is sent twice.</summary>
    public sealed class RespClient
    {
        private readonly Uri node;
        private readonly TimeSpan timeout;
        private readonly ConcurrentBag<TcpClient> idle = new ConcurrentBag<TcpClient>();

        public RespClient(string url, TimeSpan timeout)
        {
            node = new Uri(url);
            if (node.Scheme != "redis")
            {
                throw new DefiniteException($"{url}: only redis://HOST:PORT is supported");
            }
            this.timeout = timeout;
        }

        /// <summary>Returns the reply: a string, a long, or null. An error reply is thrown as DefiniteException,
        /// because the server has refused the command.</summary>
        public async Task<object> Command(params object[] words)
        {
            TcpClient connection;
            if (!idle.TryTake(out connection))
            {
                connection = new TcpClient { NoDelay = true };
            }
            // Only closing the connection ends a pending read.
            var answer = Ask(connection, words);
            if (await Task.WhenAny(answer, Task.Delay(timeout)) != answer)
            {
                connection.Close();
                throw new TimeoutException($"no reply within {timeout.TotalMilliseconds} ms");
            }
            object reply;
            try
            {
                reply = await answer;
            }
            catch (Exception)
            {
                connection.Close();
                throw;
            }
            idle.Add(connection);
            if (reply is DefiniteException)
            {
                throw (DefiniteException)reply;
            }
            return reply;
        }

        private async Task<object> Ask(TcpClient connection, object[] words)
        {
            if (!connection.Connected)
            {
                await connection.ConnectAsync(node.Host, node.Port);
            }
            var stream = connection.GetStream();
            var bytes = Encode(words);
            await stream.WriteAsync(bytes, 0, bytes.Length);
            return await Reply(stream);
        }

        private static byte[] Encode(object[] words)
        {
            var text = new StringBuilder($"*{words.Length}\r\n");
            foreach (var word in words)
            {
                var plain = Convert.ToString(word, CultureInfo.InvariantCulture);
                text.Append($"${Encoding.UTF8.GetByteCount(plain)}\r\n{plain}\r\n");
            }
            return Encoding.UTF8.GetBytes(text.ToString());
        }

        private static async Task<object> Reply(Stream stream)
        {
            var line = await Line(stream);
            var rest = line.Substring(1);
            switch (line[0])
            {
                case '+':
                    return rest;
                case '-':
                    return new DefiniteException(rest);
                case ':':
                    return long.Parse(rest, CultureInfo.InvariantCulture);
                case '$':
                    var length = int.Parse(rest, CultureInfo.InvariantCulture);
                    return length < 0 ? null : Encoding.UTF8.GetString(await Exactly(stream, length + 2), 0, length);
                default:
                    throw new IOException($"unexpected reply {line}");
            }
        }

        private static async Task<string> Line(Stream stream)
        {
            var line = new List<byte>();
            do
            {
                line.AddRange(await Exactly(stream, 1));
            } while (line[line.Count - 1] != (byte)'\n');
            return Encoding.UTF8.GetString(line.ToArray()).TrimEnd('\r', '\n');
        }

        private static async Task<byte[]> Exactly(Stream stream, int length)
        {
            var bytes = new byte[length];
            for (var read = 0; read < length;)
            {
                var more = await stream.ReadAsync(bytes, read, length - read);
                read += more > 0 ? more : throw new EndOfStreamException("the server closed the connection");
            }
            return bytes;
        }
    }
}
