//! Single requests, batches and pipelines.

use manometer_target::engine::{EngineError, EngineSession, PipelinedRequest};

use super::subject::{every_engine, every_engine_on_disk, every_engine_with_memory, get};

#[test]
fn a_value_is_found_overwritten_and_deleted() {
    every_engine_with_memory(|subject| {
        let engine = subject.open();
        let mut session = engine.session();
        assert_eq!(get(&mut *session, b"user1"), None);
        for value in [b"first".as_slice(), b"other", b"a longer one", b"short"] {
            session.put(b"user1", value).unwrap();
            assert_eq!(get(&mut *session, b"user1").as_deref(), Some(value));
        }
        assert_eq!(get(&mut *session, b"user"), None);
        assert_eq!(get(&mut *session, b"user10"), None);
        session.delete(b"user1").unwrap();
        assert_eq!(get(&mut *session, b"user1"), None);
        session.put(b"user1", b"again").unwrap();
        assert_eq!(get(&mut *session, b"user1").as_deref(), Some(b"again".as_slice()));
    });
}

#[test]
fn deleting_a_missing_key_is_not_an_error() {
    every_engine(|subject| {
        let engine = subject.open();
        let mut session = engine.session();
        session.delete(b"nobody").unwrap();
        session.delete(b"nobody").unwrap();
    });
}

#[test]
fn values_may_be_empty_or_a_mebibyte() {
    every_engine_with_memory(|subject| {
        let engine = subject.open();
        let mut session = engine.session();
        let large: Vec<u8> = (0..1 << 20).map(|place: u32| (place / 7) as u8).collect();
        for value in [b"".as_slice(), &large, b"", b"x", &large] {
            session.put(b"user1", value).unwrap();
            assert!(get(&mut *session, b"user1").as_deref() == Some(value), "{} bytes", value.len());
        }
        session.put(b"user2", b"small").unwrap();
        assert_eq!(get(&mut *session, b"user2").as_deref(), Some(b"small".as_slice()));
    });
}

#[test]
fn plain_keys_of_up_to_200_bytes_are_kept() {
    every_engine_with_memory(|subject| {
        let engine = subject.open();
        let mut session = engine.session();
        let keys: Vec<Vec<u8>> = [1, 2, 16, 128, 200].iter().map(|bytes| vec![b'k'; *bytes]).collect();
        for key in &keys {
            session.put(key, key).unwrap();
        }
        for key in &keys {
            assert_eq!(get(&mut *session, key).as_ref(), Some(key));
        }
    });
}

#[test]
fn any_other_key_is_kept_or_refused_with_a_reason() {
    let keys = [
        Vec::new(),
        vec![0],
        vec![0xFF; 4],
        b"with space\r\n".to_vec(),
        vec![b'k'; 255],
        vec![0x80; 511],
        vec![b'k'; 512],
        vec![b'k'; 70_000],
    ];
    every_engine_with_memory(|subject| {
        let engine = subject.open();
        let mut session = engine.session();
        for key in &keys {
            match session.put(key, b"here") {
                Ok(()) => assert_eq!(get(&mut *session, key).as_deref(), Some(b"here".as_slice())),
                Err(EngineError::Failed { text, .. }) => assert!(!text.is_empty()),
                Err(EngineError::Unsupported { .. }) => {}
                Err(error) => panic!("{}: {} bytes: {error}", subject.info.name, key.len()),
            }
        }
        session.put(b"plain", b"after").unwrap();
        assert_eq!(get(&mut *session, b"plain").as_deref(), Some(b"after".as_slice()));
    });
}

#[test]
fn keys_are_kept_up_to_the_longest_that_an_engine_names() {
    // No longer key is written here.
    const TRIED_BYTES: u64 = 1 << 16;
    every_engine_with_memory(|subject| {
        let engine = subject.open();
        let mut session = engine.session();
        let most = subject.info.key_bytes_max.unwrap_or(u64::MAX);
        let longest = vec![b'k'; most.min(TRIED_BYTES) as usize];
        session.put(&longest, b"here").unwrap();
        assert_eq!(get(&mut *session, &longest).as_deref(), Some(b"here".as_slice()));
        if most < TRIED_BYTES {
            let longer = vec![b'k'; longest.len() + 1];
            assert!(session.put(&longer, b"there").is_err(), "{}: {} bytes", subject.info.name, longer.len());
        }
    });
}

#[test]
fn engines_on_disk_keep_keys_of_any_bytes_up_to_511() {
    every_engine_on_disk(|subject| {
        let engine = subject.open();
        let mut session = engine.session();
        for key in [vec![0], vec![0xFF; 4], b"with space\r\n".to_vec(), vec![b'k'; 255], vec![0x80; 511]] {
            session.put(&key, &key).unwrap();
            assert_eq!(get(&mut *session, &key), Some(key));
        }
    });
}

#[test]
fn many_keys_are_looked_up_at_once() {
    every_engine_with_memory(|subject| {
        let engine = subject.open();
        let mut session = engine.session();
        for key in [b"a", b"c", b"e"] {
            session.put(key, key).unwrap();
        }
        let keys: [&[u8]; 6] = [b"c", b"b", b"a", b"c", b"f", b"e"];
        let mut found = vec![Some(b"no answer".to_vec()); keys.len()];
        let mut answers = 0;
        session
            .get_many(&keys, &mut |place, value| {
                found[place] = value.map(<[u8]>::to_vec);
                answers += 1;
            })
            .unwrap();
        let wanted = [Some("c"), None, Some("a"), Some("c"), None, Some("e")];
        assert_eq!(found, wanted.map(|value| value.map(|text| text.as_bytes().to_vec())));
        assert_eq!(answers, keys.len());
        session.get_many(&[], &mut |_, _| panic!("nothing was requested")).unwrap();
    });
}

#[test]
fn a_pipeline_answers_in_order() {
    every_engine_with_memory(|subject| {
        let engine = subject.open();
        let mut session = engine.session();
        let requests = [
            PipelinedRequest::Get { key: b"a" },
            PipelinedRequest::Put { key: b"a", value: b"1" },
            PipelinedRequest::Get { key: b"a" },
            PipelinedRequest::Put { key: b"a", value: b"2" },
            PipelinedRequest::Put { key: b"b", value: b"3" },
            PipelinedRequest::Get { key: b"a" },
        ];
        let mut answers = Vec::new();
        session.pipeline(&requests, &mut |place, value| answers.push((place, value.map(<[u8]>::to_vec)))).unwrap();
        let wanted = [None, None, Some(b"1".to_vec()), None, None, Some(b"2".to_vec())];
        assert_eq!(answers, wanted.into_iter().enumerate().collect::<Vec<_>>());
        assert_eq!(get(&mut *session, b"b").as_deref(), Some(b"3".as_slice()));
        session.pipeline(&[], &mut |_, _| panic!("nothing was requested")).unwrap();
    });
}

#[test]
fn the_last_operand_of_a_merge_wins() {
    every_engine_with_memory(|subject| {
        let engine = subject.open();
        let mut session = engine.session();
        session.put(b"there", b"old").unwrap();
        for (key, operand) in [(b"there", b"one"), (b"there", b"two"), (b"fresh", b"six")] {
            session.merge(key, operand).unwrap();
            assert_eq!(get(&mut *session, key).as_deref(), Some(operand.as_slice()));
        }
        session.delete(b"there").unwrap();
        assert_eq!(get(&mut *session, b"there"), None);
    });
}

#[test]
fn what_one_session_writes_another_reads() {
    every_engine_with_memory(|subject| {
        let engine = subject.open();
        let (mut here, mut there) = (engine.session(), engine.session());
        for round in 0..5_u8 {
            let (writer, reader): (&mut dyn EngineSession, &mut dyn EngineSession) =
                if round % 2 == 0 { (&mut *here, &mut *there) } else { (&mut *there, &mut *here) };
            writer.put(b"user1", &[round; 50]).unwrap();
            assert_eq!(get(reader, b"user1"), Some(vec![round; 50]));
        }
        here.delete(b"user1").unwrap();
        assert_eq!(get(&mut *there, b"user1"), None);
    });
}

#[test]
fn what_was_put_is_there_when_it_is_opened_again() {
    every_engine_on_disk(|subject| {
        let engine = subject.open();
        let mut session = engine.session();
        for number in 0..20_u8 {
            session.put(&[b'k', number], &[number; 300]).unwrap();
        }
        session.delete(&[b'k', 7]).unwrap();
        session.merge(&[b'k', 8], b"merged").unwrap();
        drop(session);
        drop(engine);
        let engine = subject.open();
        let mut session = engine.session();
        for number in 0..20_u8 {
            let wanted = match number {
                7 => None,
                8 => Some(b"merged".to_vec()),
                _ => Some(vec![number; 300]),
            };
            assert_eq!(get(&mut *session, &[b'k', number]), wanted, "{number}");
        }
    });
}

#[test]
fn a_database_of_garbage_is_refused() {
    every_engine_on_disk(|subject| {
        let engine = subject.open();
        engine.session().put(b"user1", b"value").unwrap();
        engine.settle().unwrap();
        drop(engine);
        let mut folders = vec![subject.database()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    std::fs::write(&path, vec![0xA5; 20_000]).unwrap();
                }
            }
        }
        let error = subject.open_with(&Default::default()).err().expect("garbage passed for a database");
        assert!(matches!(error, EngineError::Failed { .. }), "{}: {error}", subject.info.name);
    });
}
