-- What a script finds around it, as Redis sets it up. Loaded once for each Lua state.
-- `call_raw` (words) gives true and the reply, or false and an error table; `random` and
-- `random_seed` are Redis's generator; `sha1`, `refuse` and `error_table` are the model's.
local call_raw, random, random_seed, sha1, refuse, error_table, version, version_number = ...

local error, type, tostring, rawset, rawget = error, type, tostring, rawset, rawget
local setmetatable, getmetatable, select = setmetatable, getmetatable, select
local raw_pcall, raw_xpcall, next, pairs = pcall, xpcall, next, pairs

local READONLY = "Attempt to modify a readonly table"
local protected = setmetatable({}, {__mode = "k"})

local function deny()
    error(READONLY, 2)
end

-- A view of a table that scripts can read and cannot change.
local function protect(inner)
    local view = setmetatable({}, {__index = inner, __newindex = deny, __metatable = false})
    protected[view] = inner
    return view
end

local redis = {
    LOG_DEBUG = 0, LOG_VERBOSE = 1, LOG_NOTICE = 2, LOG_WARNING = 3,
    REPL_ALL = 3, REPL_AOF = 1, REPL_NONE = 0, REPL_REPLICA = 2, REPL_SLAVE = 2,
    REDIS_VERSION = version, REDIS_VERSION_NUM = version_number,
}

function redis.call(...)
    local ok, reply = call_raw(...)
    if ok then return reply end
    error(reply, 0)
end

function redis.pcall(...)
    local _, reply = call_raw(...)
    return reply
end

function redis.error_reply(...)
    local text = ...
    if select("#", ...) ~= 1 or type(text) ~= "string" then
        return {err = "ERR wrong number or type of arguments"}
    end
    return error_table(text)
end

function redis.status_reply(...)
    local text = ...
    if select("#", ...) ~= 1 or type(text) ~= "string" then
        return {err = "ERR wrong number or type of arguments"}
    end
    return {ok = text}
end

function redis.sha1hex(...)
    local text = ...
    if select("#", ...) ~= 1 then
        error({err = "ERR wrong number of arguments"}, 0)
    end
    if type(text) == "number" then text = tostring(text) end
    return sha1(type(text) == "string" and text or "")
end

function redis.log() end

function redis.replicate_commands() return true end

for _, name in pairs({"setresp", "set_repl", "acl_check_cmd", "breakpoint", "debug"}) do
    redis[name] = function() refuse("redis." .. name) end
end

local globals = {}
for _, name in pairs({
    "_VERSION", "assert", "collectgarbage", "coroutine", "error", "gcinfo", "getmetatable",
    "ipairs", "load", "loadstring", "next", "pairs", "rawequal", "rawget", "select",
    "setmetatable", "tonumber", "tostring", "type", "unpack", "xpcall",
}) do
    globals[name] = _G[name]
end

-- Redis hands the text of its errors to scripts that catch them, not the table.
local function caught(ok, ...)
    if not ok then
        local reason = ...
        if type(reason) == "table" and type(rawget(reason, "err")) == "string" then
            return false, reason.err
        end
    end
    return ok, ...
end

function globals.pcall(...)
    return caught(raw_pcall(...))
end

function globals.rawset(target, ...)
    if protected[target] then error(READONLY, 0) end
    return rawset(target, ...)
end

function globals.setmetatable(target, ...)
    if protected[target] then error(READONLY, 0) end
    return setmetatable(target, ...)
end

globals.next = function(target, ...) return next(protected[target] or target, ...) end
globals.pairs = function(...)
    local inner = protected[...]
    if inner then return next, inner, nil end
    return pairs(...)
end

math.random = random
math.randomseed = random_seed
globals.math = protect(math)
globals.string = protect(string)
globals.table = protect(table)
globals.redis = protect(redis)
for _, name in pairs({"bit", "cjson", "cmsgpack", "struct"}) do
    globals[name] = setmetatable({}, {
        __index = function(_, member) refuse(name .. "." .. tostring(member)) end,
        __newindex = deny,
        __metatable = false,
    })
end

local environment = setmetatable({}, {__index = globals, __newindex = deny, __metatable = false})
protected[environment] = globals
globals._G = environment
-- Values put into `globals` itself (KEYS, ARGV) are found before this is asked.
setmetatable(globals, {
    __index = function(_, name)
        error("Script attempted to access nonexistent global variable '" .. tostring(name) .. "'", 2)
    end,
})

local set_environment = setfenv
local compile = loadstring
-- What a script loads runs in the same environment.
function globals.loadstring(...)
    local chunk, reason = compile(...)
    if chunk then set_environment(chunk, environment) end
    return chunk, reason
end
globals.load = nil
rawset(globals, "load", function() refuse("load") end)

local function enter(script, handler, keys, argv)
    rawset(globals, "KEYS", keys)
    rawset(globals, "ARGV", argv)
    return raw_xpcall(script, handler)
end

return environment, enter
