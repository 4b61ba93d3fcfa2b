//! Servers of a test's own, on the loopback address.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use super::{Scene, wait_for};

/// A port that is free.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A Redis server.
pub struct Redis(Child, u16);

impl Redis {
    /// Starts it; nothing where it is not installed.
    pub fn start(scene: &Scene, port: u16) -> Option<Self> {
        let mut command = Command::new("redis-server");
        command.args(["--port", &port.to_string(), "--save", "", "--appendonly", "no"]).current_dir(scene.path(""));
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
        wait_for("the server to listen", || TcpStream::connect(("127.0.0.1", port)).ok());
        Some(Self(child, port))
    }

    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    /// The first lines of its answer to `command`, one word after the other; without the marks of the protocol.
    pub fn ask(&self, command: &str, lines: usize) -> Vec<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.1)).unwrap();
        stream.write_all(format!("{command}\r\n").as_bytes()).unwrap();
        let is_value = |line: &String| !line.starts_with(['$', '*']) || line == "$-1";
        let answer = BufReader::new(stream).lines().map_while(Result::ok).filter(is_value);
        answer.take(lines).map(|line| line.trim_start_matches([':', '+']).to_owned()).collect()
    }

    /// How many keys it holds.
    pub fn keys(&self) -> u64 {
        self.ask("DBSIZE", 1)[0].parse().unwrap()
    }

    /// How many commands it has answered.
    pub fn answered(&self) -> Option<u64> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.1)).ok()?;
        stream.write_all(b"INFO stats\r\n").ok()?;
        let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
        lines.find_map(|line| line.strip_prefix("total_commands_processed:")?.trim().parse().ok())
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A memcached server.
pub struct Memcached(Child, u16);

impl Memcached {
    /// Starts it; nothing where it is not installed.
    pub fn start(port: u16) -> Option<Self> {
        let mut command = Command::new("memcached");
        command.args(["-l", "127.0.0.1", "-p", &port.to_string(), "-U", "0", "-u", "root"]);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
        wait_for("the server to listen", || TcpStream::connect(("127.0.0.1", port)).ok());
        Some(Self(child, port))
    }

    /// Its address.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.1)
    }

    /// The first line of its answer to `command`.
    pub fn ask(&self, command: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.1)).unwrap();
        stream.write_all(format!("{command}\r\n").as_bytes()).unwrap();
        BufReader::new(stream).lines().next().unwrap().unwrap()
    }
}

impl Drop for Memcached {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
