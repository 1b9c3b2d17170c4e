//! Which certificates are trusted, and in plain words why one is not.

use std::{error::Error, fmt, sync::Arc};

use jiff::{Timestamp, tz::TimeZone};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, OtherError, RootCertStore,
    SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, aws_lc_rs},
    pki_types::{CertificateDer, ServerName, UnixTime},
};
use rustls_platform_verifier::Verifier;
use webpki::EndEntityCert;

/// Names of a certificate that are shown, at most.
const SHOWN: usize = 5;

/// Trusts the authorities of the system, and these.
pub(super) fn config(roots: Vec<CertificateDer<'static>>) -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()?;
    let mut config = match verifier(roots.clone(), provider) {
        Ok(verifier) => config
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Explaining(verifier)))
            .with_no_client_auth(),
        Err(error) => {
            // A machine without root certificates can still crawl http hosts.
            let who = if roots.is_empty() { "every https host" } else { "all but fetch.ca_file" };
            tracing::warn!(%error, "no root certificates found: {who} will be refused");
            let mut store = RootCertStore::empty();
            store.add_parsable_certificates(roots);
            config.with_root_certificates(store).with_no_client_auth()
        }
    };
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

fn verifier(
    roots: Vec<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
) -> Result<Verifier, rustls::Error> {
    if roots.is_empty() {
        Verifier::new(provider)
    } else {
        Verifier::new_with_extra_roots(roots, provider)
    }
}

/// Why a certificate is not trusted, and what to do. None if the reason is another one, which speaks for itself.
pub(super) fn reason(error: &rustls::Error) -> Option<String> {
    let rustls::Error::InvalidCertificate(error) = error else { return None };
    let text = match error {
        CertificateError::Other(OtherError(error)) if error.is::<SelfSigned>() => {
            "the host's certificate is self-signed: if you trust it, name it, or the authority's certificate, in fetch.ca_file"
        }
        CertificateError::Other(OtherError(error)) if is_authority(error.as_ref()) => {
            "the host's certificate is self-signed, as an authority's: fetch.ca_file cannot help; the host needs a certificate that an authority has signed"
        }
        CertificateError::UnknownIssuer => {
            "the authority of the host's certificate is not known here, or the host does not send the certificates between: if you trust it, name the authority's certificate in fetch.ca_file"
        }
        CertificateError::ExpiredContext { not_after, .. } => {
            return Some(format!(
                "the host's certificate expired on {}: its owner has to renew it, unless the clock of this machine is wrong",
                date(*not_after)
            ));
        }
        CertificateError::NotValidYetContext { not_before, .. } => {
            return Some(format!(
                "the host's certificate is not valid yet, but from {} on: its owner has to replace it, unless the clock of this machine is wrong",
                date(*not_before)
            ));
        }
        CertificateError::NotValidForNameContext { expected, presented } => {
            let expected = expected.to_str();
            let names = names(presented);
            return Some(format!(
                "the certificate is not for {expected}, but for {names}: check the name of the host; fetch.ca_file cannot help"
            ));
        }
        CertificateError::Revoked => {
            "the host's certificate was revoked: its owner has to replace it"
        }
        _ => return None,
    };
    Some(text.to_owned())
}

/// Whether an authority's certificate was found where a host's should be.
fn is_authority(error: &(dyn Error + Send + Sync + 'static)) -> bool {
    matches!(error.downcast_ref(), Some(webpki::Error::CaUsedAsEndEntity))
}

fn date(time: UnixTime) -> String {
    let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    match Timestamp::from_second(seconds) {
        Ok(at) => at.to_zoned(TimeZone::UTC).date().to_string(),
        Err(_) => "a day beyond all calendars".to_owned(),
    }
}

/// The names in a certificate, which rustls writes as `DnsName("a.test")`.
fn names(presented: &[String]) -> String {
    let name = |name: &String| name.split('"').nth(1).unwrap_or(name).to_owned();
    let names = presented.iter().take(SHOWN).map(name).collect::<Vec<_>>().join(", ");
    match presented.len() {
        0 => "no name".to_owned(),
        more if more > SHOWN => format!("{names} and {} more", more - SHOWN),
        _ => names,
    }
}

/// The certificate was signed by its own key.
#[derive(Debug)]
struct SelfSigned;

impl fmt::Display for SelfSigned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the certificate is self-signed")
    }
}

impl Error for SelfSigned {}

/// Verifies as the system does, and distinguishes certificates that nobody but their owner has signed.
#[derive(Debug)]
struct Explaining(Verifier);

impl ServerCertVerifier for Explaining {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let verified =
            self.0.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        verified.map_err(|error| match error {
            rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer)
                if is_self_issued(end_entity) =>
            {
                CertificateError::Other(OtherError(Arc::new(SelfSigned))).into()
            }
            error => error,
        })
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

/// Whether a certificate names its subject as its issuer. False if it cannot be read.
fn is_self_issued(certificate: &CertificateDer<'_>) -> bool {
    EndEntityCert::try_from(certificate).is_ok_and(|cert| cert.issuer() == cert.subject())
}
