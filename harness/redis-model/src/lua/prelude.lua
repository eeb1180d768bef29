-- The environment of a script, as Redis sets it up. Loaded once for each Lua state. The arguments
-- are Rust functions. What Redis implements in C must not be written in Lua here: `return
-- redis.call(...)` would replace the script's frame, and errors would lose their line.
local native, version, version_number = ...

local error, type, tostring, rawset, select = error, type, tostring, rawset, select
local setmetatable, pairs = setmetatable, pairs
local raw_pcall, raw_xpcall = pcall, xpcall
local plain_error, refuse = native.plain_error, native.refuse

local function deny()
    error("Attempt to modify a readonly table", 2)
end

-- A view of a table that scripts can read but not change.
local function protect(inner)
    local protection = {__index = inner, __newindex = deny, __metatable = false}
    protection[native.readonly] = true
    return setmetatable({}, protection)
end

local redis = {
    LOG_DEBUG = 0, LOG_VERBOSE = 1, LOG_NOTICE = 2, LOG_WARNING = 3,
    REPL_ALL = 3, REPL_AOF = 1, REPL_NONE = 0, REPL_REPLICA = 2, REPL_SLAVE = 2,
    REDIS_VERSION = version, REDIS_VERSION_NUM = version_number,
    SERVER_NAME = native.server_name,
    VALKEY_VERSION = native.valkey_version, VALKEY_VERSION_NUM = native.valkey_version_number,
    setresp = native.setresp, set_repl = native.set_repl, acl_check_cmd = native.acl_check_cmd,
    log = native.log,
}

redis.call, redis.pcall, redis.sha1hex = native.call, native.pcall, native.sha1hex

function redis.error_reply(...)
    local text = ...
    if select("#", ...) ~= 1 or type(text) ~= "string" then
        return {err = "ERR wrong number or type of arguments"}
    end
    return native.error_table(text)
end

function redis.status_reply(...)
    local text = ...
    if select("#", ...) ~= 1 or type(text) ~= "string" then
        return {err = "ERR wrong number or type of arguments"}
    end
    return {ok = text}
end

function redis.replicate_commands() return true end

-- Without a debugger.
function redis.breakpoint() return false end
function redis.debug() end

-- Functions do not have these.
if native.register_function then
    redis.replicate_commands, redis.breakpoint, redis.debug = nil, nil, nil
end

local globals = {}
for _, name in pairs({
    "_VERSION", "assert", "collectgarbage", "coroutine", "error", "gcinfo", "getmetatable",
    "ipairs", "load", "loadstring", "next", "pairs", "rawequal", "rawget", "select",
    "setmetatable", "tonumber", "tostring", "type", "unpack",
}) do
    globals[name] = _G[name]
end

-- A script must not catch the error that ends a script that does not end by itself.
local still_allowed = native.still_allowed
local function uncaught(...)
    still_allowed()
    return ...
end

-- Redis passes the text of its errors to scripts that catch them, not the table.
local function caught(ok, ...)
    if ok then return ok, ... end
    still_allowed()
    local reason = plain_error(...)
    -- Redis 6.2 passes tables that scripts raise as they are.
    if native.has_old_globals and type(...) == "table" then return false, reason end
    if type(reason) == "table" and type(reason.err) == "string" then reason = reason.err end
    return false, reason
end

function globals.pcall(...)
    return caught(raw_pcall(...))
end

function globals.xpcall(body, handler)
    local function plain(reason) return handler(plain_error(reason)) end
    return uncaught(raw_xpcall(body, plain))
end

local raw_resume = coroutine.resume
function coroutine.resume(...)
    return uncaught(raw_resume(...))
end

globals.rawset = native.rawset
math.random, math.randomseed = native.random, native.random_seed
table.insert = native.insert
globals.math = protect(math)
globals.string = protect(string)
globals.table = protect(table)
globals.redis = protect(redis)
if native.server_name then globals.server = globals.redis end
if native.has_clock then
    globals.os = protect({clock = function() refuse("os.clock") end})
end
if native.has_old_globals then
    function globals.print() end
    for _, name in pairs({"getfenv", "newproxy", "setfenv"}) do
        globals[name] = function() refuse(name) end
    end
end
local environment = protect(globals)
globals._G = environment
-- Values in `globals` itself (KEYS, ARGV) are found before this is called.
setmetatable(globals, {
    __index = function(_, name)
        local kind = type(name)
        if kind == "string" then
            local library = native.library(name)
            if library then
                library = protect(library)
                rawset(globals, name, library)
                return library
            end
        elseif kind ~= "number" then
            error("Second argument to luaProtectedTableError must be a string or number", 2)
        end
        error("Script attempted to access nonexistent global variable '" .. tostring(name) .. "'", 2)
    end,
})

local set_environment = setfenv
local compile = loadstring
-- Code that a script loads runs in the same environment.
function globals.loadstring(...)
    local chunk, reason = compile(...)
    if chunk then set_environment(chunk, environment) end
    return chunk, reason
end
globals.load = function() refuse("load") end

local function enter(script, handler, keys, argv)
    rawset(globals, "KEYS", keys)
    rawset(globals, "ARGV", argv)
    return raw_xpcall(script, handler)
end

if not native.register_function then return environment, enter end

-- What a library of functions sees: little while it is loaded, what scripts see when a function is called.
local api = {
    LOG_DEBUG = 0, LOG_VERBOSE = 1, LOG_NOTICE = 2, LOG_WARNING = 3,
    REDIS_VERSION = version, REDIS_VERSION_NUM = version_number,
    SERVER_NAME = native.server_name,
    VALKEY_VERSION = native.valkey_version, VALKEY_VERSION_NUM = native.valkey_version_number,
    register_function = native.register_function, log = native.log_at_load,
}
local function strict(inner)
    return function(_, name)
        local value = inner[name]
        if value ~= nil then return value end
        error("Script attempted to access nonexistent global variable '" .. tostring(name) .. "'", 2)
    end
end
local protection = {__index = strict(api), __newindex = deny, __metatable = false}
protection[native.readonly] = true
local view = setmetatable({}, protection)
local at_load = strict({redis = view, server = native.server_name and view})
local scope = {__index = globals, __newindex = deny, __metatable = false}
scope[native.readonly] = true

local function load(library, handler)
    scope.__index = at_load
    local ok, raised = raw_xpcall(library, handler)
    scope.__index = globals
    return ok, raised
end

local function call(body, handler, keys, argv)
    return raw_xpcall(function() return body(keys, argv) end, handler)
end

return setmetatable({}, scope), call, load
