-- The environment of a script, as Redis sets it up, as far as locks use it. Loaded once for each Lua state.
-- The argument has Rust functions. Functions that Redis implements in C must not be written in Lua here:
-- `return redis.call(...)` would replace the script's frame, and errors would lose their line.
local native = ...

local error, type, tostring, rawset, select = error, type, tostring, rawset, select
local setmetatable, pairs = setmetatable, pairs
local raw_pcall, raw_xpcall = pcall, xpcall
local plain_error, refuse, still_allowed = native.plain_error, native.refuse, native.still_allowed

local function deny()
    error("Attempt to modify a readonly table", 2)
end

-- Returns a view of a table that scripts can read but not change.
local function protect(inner)
    local protection = {__index = inner, __newindex = deny, __metatable = false}
    protection[native.readonly] = true
    return setmetatable({}, protection)
end

-- Like `protect`, for a table that omits many fields of the one in Redis.
local function protect_part(name, inner)
    return protect(setmetatable(inner, {__index = function(_, field)
        refuse(name .. "." .. tostring(field))
    end}))
end

local redis = {call = native.call, pcall = native.pcall}

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

-- Redis passes the text of its errors, not the table, to scripts that catch them.
local function caught(ok, ...)
    if ok then return ok, ... end
    -- A script must not catch the error with which the fuse ends it.
    still_allowed()
    local reason = plain_error(...)
    if type(reason) == "table" and type(reason.err) == "string" then reason = reason.err end
    return false, reason
end

local globals = {}
for _, name in pairs({
    "assert", "error", "ipairs", "next", "pairs", "select", "tonumber", "tostring", "type", "unpack",
}) do
    globals[name] = _G[name]
end

function globals.pcall(...)
    return caught(raw_pcall(...))
end

for _, name in pairs({"random", "randomseed"}) do
    math[name] = function() refuse("math." .. name) end
end
table.insert = native.insert
globals.math = protect(math)
globals.string = protect(string)
globals.table = protect(table)
globals.redis = protect_part("redis", redis)

-- Names that Redis has but no lock's script uses. Without them, no script leaves anything behind that another
-- script would see.
local omitted = {}
for _, name in pairs({
    "_G", "_VERSION", "bit", "cmsgpack", "collectgarbage", "coroutine", "gcinfo", "getfenv", "getmetatable",
    "load", "loadstring", "newproxy", "os", "print", "rawequal", "rawget", "rawset", "server", "setfenv",
    "setmetatable", "struct", "xpcall",
}) do
    omitted[name] = true
end

local environment = protect(globals)
-- Values in `globals` itself (KEYS, ARGV) are found before this is called.
setmetatable(globals, {
    __index = function(_, name)
        if name == "cjson" then
            local library = protect_part("cjson", native.json())
            rawset(globals, name, library)
            return library
        end
        if omitted[name] then refuse(name) end
        error("Script attempted to access nonexistent global variable '" .. tostring(name) .. "'", 2)
    end,
})

local function enter(script, handler, keys, argv)
    rawset(globals, "KEYS", keys)
    rawset(globals, "ARGV", argv)
    return raw_xpcall(script, handler)
end

return environment, enter
