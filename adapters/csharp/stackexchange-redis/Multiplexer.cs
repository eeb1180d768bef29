// Connections of StackExchange.Redis, for its own lock and for those of the libraries that use it.

using System.Net;
using MyLock;
using StackExchange.Redis;

internal static class Multiplexer
{
    /// <summary>Returns the settings for a node, or for a master that Sentinels know. Except for the timeouts they are
    /// the library's defaults; a server need not be up yet. The library tries to connect three times before the first
    /// command, so the three share the timeout.</summary>
    public static ConfigurationOptions Settings(string node, TimeSpan timeout)
    {
        var (addresses, master) = PicklockAdapter.Addresses(node);
        var settings = new ConfigurationOptions
        {
            AbortOnConnectFail = false,
            ServiceName = master,
            ConnectTimeout = (int)timeout.TotalMilliseconds / 3,
            AsyncTimeout = (int)timeout.TotalMilliseconds,
            SyncTimeout = (int)timeout.TotalMilliseconds,
        };
        foreach (var address in addresses)
        {
            settings.EndPoints.Add(address);
        }
        return settings;
    }
}
