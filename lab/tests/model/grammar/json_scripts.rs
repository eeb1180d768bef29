//! Scripts of random transcripts that use `cjson`.

/// As words of a template: see [`crate::transcript::word`].
pub const SCRIPTS: &[&str] = &[
    // What a lock does that keeps its holder as JSON.
    r#"local\sp=redis.call('get',KEYS[1])\nif\sp\sthen\nlocal\sok,d=pcall(cjson.decode,p)\nif\sok\sand\stype(d)=='table'\sand\sd.owner==ARGV[1]\sthen\nd.owner=ARGV[2]\nredis.call('psetex',KEYS[1],5000000,cjson.encode(d))\nreturn\sredis.call('get',KEYS[1])\nend\nend"#,
    r#"local\sp=cjson.encode({owner=ARGV[1]})\nif\sredis.call('set',KEYS[1],p,'NX','EX',5000)\sthen\sreturn\sp\send\nreturn\sredis.call('get',KEYS[1])"#,
    r#"return\scjson.encode({ARGV[1],tonumber(ARGV[2]),{a=KEYS[1]}})"#,
    r#"return\scjson.encode(redis.call('lrange','l1',0,-1))"#,
    r#"return\scjson.encode(redis.call('hgetall','h1'))"#,
    r#"return\stype(cjson.decode(redis.call('get','s1')))"#,
    r#"return\scjson.encode(cjson.decode('{"a":"'..ARGV[1]..'"}'))"#,
    r#"return\scjson.encode(tonumber(ARGV[1]))"#,
    r#"return\scjson.encode({[tonumber(ARGV[2])\sor\s'x']=ARGV[1]})"#,
];
