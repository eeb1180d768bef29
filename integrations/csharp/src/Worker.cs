using System;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;
using System.Threading.Tasks;

namespace Picklock
{
    /// <summary>A worker process of the engine: serves the lock of a class.</summary>
    internal static class Worker
    {
        /// <summary>The arguments are the file of the assembly, the class, and the names of its options.</summary>
        public static Task Main(string[] arguments)
        {
            var options = arguments.Skip(2).ToArray();
            return PicklockAdapter.ServeClients(
                (nodes, timeout, given) => Make(arguments[0], arguments[1], nodes, timeout, given), arguments[1], "", options);
        }

        private static ILock Make(
            string file, string name, string[] nodes, TimeSpan timeout, IReadOnlyDictionary<string, string> options)
        {
            var type = Assembly.LoadFrom(file).GetType(name, throwOnError: true)!;
            var candidates = new object[][]
            {
                new object[] { nodes, timeout, options }, new object[] { nodes, timeout }, new object[] { nodes },
            };
            foreach (var candidate in candidates)
            {
                var constructor = type.GetConstructors(BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic)
                    .FirstOrDefault(one => Accepts(one, candidate));
                if (constructor != null)
                {
                    try
                    {
                        return (ILock)constructor.Invoke(candidate);
                    }
                    catch (TargetInvocationException problem) when (problem.InnerException != null)
                    {
                        Console.Error.WriteLine(problem.InnerException);
                        var only = nodes.Length == 1 ? "nodes[0]" : "nodes";
                        // The exception comes first, because the engine shortens long messages.
                        throw new DefiniteException($"{PicklockAdapter.Describe(problem.InnerException)}; the constructor "
                            + $"of {type.Name} threw this; connect to {only} ({string.Join(", ", nodes)})");
                    }
                }
            }
            throw new DefiniteException($"{name} has no constructor (string[] nodes, TimeSpan timeout)");
        }

        private static bool Accepts(ConstructorInfo constructor, object[] values)
        {
            var parameters = constructor.GetParameters();
            return parameters.Length == values.Length
                && parameters.Zip(values, (parameter, value) => parameter.ParameterType.IsInstanceOfType(value)).All(fits => fits);
        }
    }
}
